"""HTTP and queue handlers, one per trigger: request in, response out. The only package that knows Starlette."""
