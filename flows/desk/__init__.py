"""The reviewer's desk: pages that open anywhere, made from the store alone."""
