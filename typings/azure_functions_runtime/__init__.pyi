"""The part of Microsoft's untyped worker library that `local.worker` drives."""

class _Result:
    status: str
    exception: _Failure

class _Failure:
    message: str
    stack_trace: str

class _InitAnswer:
    capabilities: dict[str, str]
    result: _Result

class _FunctionMetadata:
    name: str
    function_id: str
    raw_bindings: list[str]

class _MetadataAnswer:
    function_metadata_results: list[_FunctionMetadata] | None

class _InvocationAnswer:
    result: _Result

async def worker_init_request(request: object) -> _InitAnswer: ...
async def functions_metadata_request(request: object) -> _MetadataAnswer: ...
async def invocation_request(request: object) -> _InvocationAnswer: ...
