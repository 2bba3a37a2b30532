"""The web server's part: how requests are received, how responses are streamed, and the URL of the app."""
