"""The page of each Space, and how a page is served."""

from importlib.resources import files

import gradio as gr

from .generation import fill_generation_tab
from .own_schema import fill_own_schema_tab
from .tracking import fill_tracking_tab
from .views import CSS

# The computer's own fonts, so that none is fetched from a server.
_FONTS = {"font": ["system-ui", "sans-serif"], "font_mono": ["monospace"]}


def tracking_and_generation() -> gr.Blocks:
    """The page of the Space of `sgdx_metric`: trackers, generators, and an API of one's own."""
    page: gr.Blocks
    with gr.Blocks(title="SGD-X metric") as page:
        gr.Markdown("# SGD-X metric")
        with gr.Tabs():
            with gr.Tab("Tracking"):
                fill_tracking_tab(page)
            with gr.Tab("Generation") as tab:
                fill_generation_tab(tab)
            with gr.Tab("Your own API"):
                fill_own_schema_tab()
    return page


def generation_with_card() -> gr.Blocks:
    """The page of the Space of `sgsacc_metric`: its card, and a tab for generators."""
    card = (files("sgsacc_metric") / "README.md").read_text(encoding="utf-8")
    front_matter_end = card.index("\n---\n") + len("\n---\n")
    page: gr.Blocks
    with gr.Blocks(title="SGSAcc metric") as page:
        with gr.Tab("Card"):
            gr.Markdown(card[front_matter_end:])
        with gr.Tab("Try it") as tab:
            fill_generation_tab(tab)
    return page


def launch(page: gr.Blocks) -> None:
    """Serve a page until it is stopped; uploads of over 50 MB are refused."""
    page.launch(share=False, css=CSS, theme=gr.themes.Soft(**_FONTS), max_file_size="50mb")
