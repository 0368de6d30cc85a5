"""What can be measured of one table of people without a policy, a source or a history: its classes alone."""
