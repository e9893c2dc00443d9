"""What users ask for, made into what the core needs: bounds, chunk shapes, fill values, and the class STZ."""
