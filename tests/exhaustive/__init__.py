"""The bound, over many more cases than a test run has time for: night.py is the program, each other module a part of it."""
