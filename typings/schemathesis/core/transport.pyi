class Response:
    status_code: int
