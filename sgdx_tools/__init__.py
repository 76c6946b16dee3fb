"""SGD-X for your own tools: what does it cost when somebody words them differently?"""
