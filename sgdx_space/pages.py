"""The page: its tabs, its style, and how it is served."""

import gradio as gr

from .own import fill_own_tab
from .scores import fill_scores_tab
from .tracking import fill_tracking_tab

# Green is right and red is wrong, by the annotation; where nobody has annotated, what differs is
# yellow. The marks say the same without colours. Texts on colours stay dark in both schemes.
_CSS = """
.right, .wrong, .differs { border-radius: .3rem; padding: 0 .3rem; color: #222 }
.right { background: #bfe8c6 } .wrong { background: #f8b4b4 } .differs { background: #fdeaa8 }
.right::after { content: " ✓" } .wrong::after { content: " ✗" } .differs::after { content: " ≠" }
.scroll { overflow-x: auto } .scroll table { border-collapse: collapse; margin: .5rem 0 }
.scroll th, .scroll td { border: 1px solid #8884; padding: .35rem .5rem; vertical-align: top }
.scroll caption, .scroll th { text-align: left } .scroll caption { font-weight: bold }
.scroll .number { text-align: right; white-space: nowrap } .number small { display: block }
.turns td { min-width: 9rem } .turns .said { background: #8881; font-style: italic }
.turns p { margin: .15rem 0 } .turns p, #figures code { overflow-wrap: anywhere }
.headline { font-size: 1.1rem }
.problem { border-left: 4px solid #c2410c; padding: .5rem; overflow-wrap: anywhere }
"""
# The computer's own fonts, so that none is fetched from a server.
_FONTS = {"font": ["system-ui", "sans-serif"], "font_mono": ["monospace"]}


def launch() -> None:
    """Serve the page until it is stopped; uploads of over 50 MB are refused."""
    page: gr.Blocks
    with gr.Blocks(title="SGD-X") as page:
        gr.Markdown("# Does it still work when only the words of the schema change?")
        with gr.Tab("Dialogue"):
            fill_tracking_tab(page)
        with gr.Tab("Scores"):
            fill_scores_tab()
        with gr.Tab("Your API"):
            fill_own_tab()
    theme = gr.themes.Soft(**_FONTS)
    page.launch(share=False, css=_CSS, theme=theme, max_file_size="50mb")
