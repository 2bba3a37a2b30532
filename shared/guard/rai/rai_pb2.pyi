from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ApiName(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    API_NAME_UNSPECIFIED: _ClassVar[ApiName]
    API_NAME_COMPLETION: _ClassVar[ApiName]
    API_NAME_CHATCOMPLETION: _ClassVar[ApiName]
    API_NAME_REALTIME: _ClassVar[ApiName]
    API_NAME_ASSISTANT: _ClassVar[ApiName]
    API_NAME_IMAGE_CREATE: _ClassVar[ApiName]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_PROMPT: _ClassVar[Source]
    SOURCE_COMPLETION: _ClassVar[Source]
API_NAME_UNSPECIFIED: ApiName
API_NAME_COMPLETION: ApiName
API_NAME_CHATCOMPLETION: ApiName
API_NAME_REALTIME: ApiName
API_NAME_ASSISTANT: ApiName
API_NAME_IMAGE_CREATE: ApiName
SOURCE_UNSPECIFIED: Source
SOURCE_PROMPT: Source
SOURCE_COMPLETION: Source

class AnalyzeBySafetyPolicyRequest(_message.Message):
    __slots__ = ("safety_policy_inline", "safety_policy_name", "buffer", "stopProcessing", "commitBuffer", "aoaiRawBuffer", "parent_policy_name")
    SAFETY_POLICY_INLINE_FIELD_NUMBER: _ClassVar[int]
    SAFETY_POLICY_NAME_FIELD_NUMBER: _ClassVar[int]
    BUFFER_FIELD_NUMBER: _ClassVar[int]
    STOPPROCESSING_FIELD_NUMBER: _ClassVar[int]
    COMMITBUFFER_FIELD_NUMBER: _ClassVar[int]
    AOAIRAWBUFFER_FIELD_NUMBER: _ClassVar[int]
    PARENT_POLICY_NAME_FIELD_NUMBER: _ClassVar[int]
    safety_policy_inline: SafetyPolicy
    safety_policy_name: str
    buffer: Buffer
    stopProcessing: bool
    commitBuffer: bool
    aoaiRawBuffer: AOAIRawBuffer
    parent_policy_name: str
    def __init__(self, safety_policy_inline: _Optional[_Union[SafetyPolicy, _Mapping]] = ..., safety_policy_name: _Optional[str] = ..., buffer: _Optional[_Union[Buffer, _Mapping]] = ..., stopProcessing: _Optional[bool] = ..., commitBuffer: _Optional[bool] = ..., aoaiRawBuffer: _Optional[_Union[AOAIRawBuffer, _Mapping]] = ..., parent_policy_name: _Optional[str] = ...) -> None: ...

class AOAIRawBuffer(_message.Message):
    __slots__ = ("api_name", "source", "payload")
    API_NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    api_name: ApiName
    source: Source
    payload: str
    def __init__(self, api_name: _Optional[_Union[ApiName, str]] = ..., source: _Optional[_Union[Source, str]] = ..., payload: _Optional[str] = ...) -> None: ...

class Buffer(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SafetyPolicy(_message.Message):
    __slots__ = ("task_settings", "name")
    TASK_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    task_settings: _containers.RepeatedCompositeFieldContainer[TaskSetting]
    name: str
    def __init__(self, task_settings: _Optional[_Iterable[_Union[TaskSetting, _Mapping]]] = ..., name: _Optional[str] = ...) -> None: ...

class TaskSetting(_message.Message):
    __slots__ = ("setting_id", "setting_enabled", "applied_for", "kind", "harm_category_task_setting", "blocking_criteria")
    SETTING_ID_FIELD_NUMBER: _ClassVar[int]
    SETTING_ENABLED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    HARM_CATEGORY_TASK_SETTING_FIELD_NUMBER: _ClassVar[int]
    BLOCKING_CRITERIA_FIELD_NUMBER: _ClassVar[int]
    setting_id: str
    setting_enabled: bool
    applied_for: _containers.RepeatedCompositeFieldContainer[AppliedFor]
    kind: str
    harm_category_task_setting: HarmCategoryTaskSetting
    blocking_criteria: BlockingCriteria
    def __init__(self, setting_id: _Optional[str] = ..., setting_enabled: _Optional[bool] = ..., applied_for: _Optional[_Iterable[_Union[AppliedFor, _Mapping]]] = ..., kind: _Optional[str] = ..., harm_category_task_setting: _Optional[_Union[HarmCategoryTaskSetting, _Mapping]] = ..., blocking_criteria: _Optional[_Union[BlockingCriteria, _Mapping]] = ...) -> None: ...

class AppliedFor(_message.Message):
    __slots__ = ("role", "source")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    role: str
    source: str
    def __init__(self, role: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class HarmCategoryTaskSetting(_message.Message):
    __slots__ = ("harm_category",)
    HARM_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    harm_category: str
    def __init__(self, harm_category: _Optional[str] = ...) -> None: ...

class BlockingCriteria(_message.Message):
    __slots__ = ("enabled", "kind", "allowed_severity")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_SEVERITY_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    kind: str
    allowed_severity: int
    def __init__(self, enabled: _Optional[bool] = ..., kind: _Optional[str] = ..., allowed_severity: _Optional[int] = ...) -> None: ...

class AnalyzeBySafetyPolicyResponse(_message.Message):
    __slots__ = ("analysisResult", "watermark", "completion")
    ANALYSISRESULT_FIELD_NUMBER: _ClassVar[int]
    WATERMARK_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_FIELD_NUMBER: _ClassVar[int]
    analysisResult: AnalysisResult
    watermark: Watermark
    completion: Completion
    def __init__(self, analysisResult: _Optional[_Union[AnalysisResult, _Mapping]] = ..., watermark: _Optional[_Union[Watermark, _Mapping]] = ..., completion: _Optional[_Union[Completion, _Mapping]] = ...) -> None: ...

class AnalysisResult(_message.Message):
    __slots__ = ("offset", "harmCategoryTaskResults")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    HARMCATEGORYTASKRESULTS_FIELD_NUMBER: _ClassVar[int]
    offset: ContentOffset
    harmCategoryTaskResults: _containers.RepeatedCompositeFieldContainer[HarmCategoryTaskOutcome]
    def __init__(self, offset: _Optional[_Union[ContentOffset, _Mapping]] = ..., harmCategoryTaskResults: _Optional[_Iterable[_Union[HarmCategoryTaskOutcome, _Mapping]]] = ...) -> None: ...

class ContentOffset(_message.Message):
    __slots__ = ("sourceType", "messageId", "contentIndex", "startOffset", "endOffset")
    SOURCETYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGEID_FIELD_NUMBER: _ClassVar[int]
    CONTENTINDEX_FIELD_NUMBER: _ClassVar[int]
    STARTOFFSET_FIELD_NUMBER: _ClassVar[int]
    ENDOFFSET_FIELD_NUMBER: _ClassVar[int]
    sourceType: Source
    messageId: str
    contentIndex: int
    startOffset: int
    endOffset: int
    def __init__(self, sourceType: _Optional[_Union[Source, str]] = ..., messageId: _Optional[str] = ..., contentIndex: _Optional[int] = ..., startOffset: _Optional[int] = ..., endOffset: _Optional[int] = ...) -> None: ...

class HarmCategoryTaskOutcome(_message.Message):
    __slots__ = ("result", "isBlocking", "kind", "harmCategoryTaskResult")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ISBLOCKING_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    HARMCATEGORYTASKRESULT_FIELD_NUMBER: _ClassVar[int]
    result: str
    isBlocking: bool
    kind: str
    harmCategoryTaskResult: HarmCategoryTaskResult
    def __init__(self, result: _Optional[str] = ..., isBlocking: _Optional[bool] = ..., kind: _Optional[str] = ..., harmCategoryTaskResult: _Optional[_Union[HarmCategoryTaskResult, _Mapping]] = ...) -> None: ...

class HarmCategoryTaskResult(_message.Message):
    __slots__ = ("harmCategory", "isDetected", "severity", "riskLevel")
    HARMCATEGORY_FIELD_NUMBER: _ClassVar[int]
    ISDETECTED_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    RISKLEVEL_FIELD_NUMBER: _ClassVar[int]
    harmCategory: str
    isDetected: bool
    severity: int
    riskLevel: str
    def __init__(self, harmCategory: _Optional[str] = ..., isDetected: _Optional[bool] = ..., severity: _Optional[int] = ..., riskLevel: _Optional[str] = ...) -> None: ...

class Watermark(_message.Message):
    __slots__ = ("sourceType", "messageId", "contentIndex", "offset")
    SOURCETYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGEID_FIELD_NUMBER: _ClassVar[int]
    CONTENTINDEX_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    sourceType: Source
    messageId: str
    contentIndex: int
    offset: int
    def __init__(self, sourceType: _Optional[_Union[Source, str]] = ..., messageId: _Optional[str] = ..., contentIndex: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class Completion(_message.Message):
    __slots__ = ("end_reason", "error_description")
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    end_reason: str
    error_description: str
    def __init__(self, end_reason: _Optional[str] = ..., error_description: _Optional[str] = ...) -> None: ...
