"""What several tests share: arrays, files, programs, exact arithmetic. tests/README.md says what is in which module."""
