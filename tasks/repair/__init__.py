"""Groups that earlier releases would undo are merged, then suppressed."""
