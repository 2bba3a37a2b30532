"""Where the worker library's HTTP server and its invocations meet."""

class _Coordinator:
    def set_http_response(self, invoc_id: str, http_response: object) -> None: ...

http_coordinator: _Coordinator
