"""Selection without choices: what ``AutoSelector`` keeps, how well that does on new rows, and what it says of this."""
