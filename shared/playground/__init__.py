"""The playground: a web page to ask from, and to see what happens meanwhile. `static/` is what browsers load."""
