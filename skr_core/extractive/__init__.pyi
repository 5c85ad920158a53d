from .model import ExtractiveModel as ExtractiveModel
