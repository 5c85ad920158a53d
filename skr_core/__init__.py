"""The core: types, ports, flows, prompts, routers and metrics. It knows no framework."""

import lazy_loader

# What stands in the stub beside this file is imported when it is asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
