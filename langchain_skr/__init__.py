"""The LangChain plug-in: retrieves when needed, and until the references suffice."""

import lazy_loader

# What stands in the stub beside this file is imported when it is asked for: `SKRMiddleware` alone
# needs the extra ``langchain``.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
