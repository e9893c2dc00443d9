"""How good results are: arrays compared, parts extracted, pictures."""
