"""Tables as arrays: blocks of rows, columns, scaling, copies, targets, tolerances."""
