"""Where bytes come from: Python file objects, and files behind web servers and in object stores."""
