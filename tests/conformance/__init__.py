"""The conformance kit: does a chat backend, ours or anyone's, answer so that the clients people use can read it?

Each client's way of reading is written down in `clients/`, one file a client, from the client's own source: the
requests it sends, what it takes from the answers, and where it would break. `python -m tests.conformance BASE_URL`
runs them all and prints a table of clients and routes. It needs Python, aiohttp and the backend, and asks each route a
few times.
"""
