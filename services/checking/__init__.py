"""What can be known of a policy and its table before any work is done on them."""
