"""One space for what is compared: classes are boxes in it, people are points; and who is in which box."""
