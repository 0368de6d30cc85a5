"""How a number is written in a column of text."""

# Plain decimal notation only: `float()` would also take "nan", "inf", "1_000" and other scripts' digits.
NUMBER = r" *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *"
