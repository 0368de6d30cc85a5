"""The reviewer's desk: reports, the site of a store, and pictures, made from the store alone."""
