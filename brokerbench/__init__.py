"""The command of the suite, for those who have installed it. It runs the packages of the tree, and imports none."""
