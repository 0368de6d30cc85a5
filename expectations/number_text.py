"""How a number is written in a column of text, and which of them a double holds."""

# Plain decimal notation only: `float()` would also take "nan", "inf", "1_000" and other scripts' digits.
NUMBER = r" *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *"
WHOLE_LIMIT = 2**53  # from here on, two whole numbers can be one double
HELD_DIGITS = 15  # that a double holds, whatever the number
NOT_WHOLE_HINT = (
    "Correct the input; or set {field}.type: numeric where numbers have fractions, "
    "and divide numbers of 2^53 or more in source.query, as doubles do not hold them."
)
