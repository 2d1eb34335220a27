"""The part Roles: a role to choose, all heads on a map, the card of one, and the table behind them."""

import streamlit as st

from mha_core import InputError
from mha_core.display_names import Head, count_noun, head_name
from mha_core.heads.questions.copying import names_of
from mha_core.heads.questions.retrieval import needle_pairs
from mha_core.heads.questions.successor import series_of
from mha_core.heads.roles import PART_OF, roles_held
from mha_core.heads.table import RoleTable
from mha_core.models.model_list import CLASSROOM_FOLDERS
from pages.parts.explore.checkpoint_slider import checkpoints_of
from pages.parts.frame import head_facts, loading, url_params
from pages.parts.frame.charts import selected_heads
from pages.parts.frame.option_row import follow_url
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import opening_head
from pages.parts.frame.shell import or_show_error
from pages.parts.roles.atlas import example_line
from pages.parts.roles.card import about_file, draw_card
from pages.parts.roles.choice import Choice, choice, counts, finding
from pages.parts.roles.curve import draw_curve
from pages.parts.roles.head_map import LEAD, MAP, draw_map, kinds, legend, scores
from pages.parts.roles.role_table import draw_table

N_EXAMPLES = 2
SMALL = 30_000_000  # parameters; MiniLM has 23 million
# Of decoders alone: the kind of role, what it is called, and what a model has to know for it.
OF_DECODERS = {
    "mover": ("name copiers", names_of),
    "retrieval": ("retrieval heads", needle_pairs),
    "successor": ("successor heads", series_of),
}
PARAMS = {"head", "role", "question"}
TOY = (
    "The toy model knows some 700 words, and most of these sentences use others. Its own 400 pairs are on the page "
    "Training."
)


def roles(request: Request) -> None:
    """Draw the roles of the model's heads."""
    table = or_show_error(_table, request)
    if table is None:
        return
    query = url_params.params()
    shown, refused = choice(table, query if query.keys() & PARAMS else {**query, **opening(request, table)})
    for sentence in refused:
        say(sentence, "notice")
    if request.model.partition("@")[0] in CLASSROOM_FOLDERS:
        say(TOY, "notice")
    if reason := unasked(request, table):
        say(reason, "notice")
    markup(kinds(shown, query))
    _question_box(shown)
    say(finding(shown), "role-finding")
    left, right = st.columns([11, 9], gap="large")
    with left:
        frame = scores(shown)
        draw_map(
            frame,
            "lead",
            title=f"{shown.title}: {LEAD}",
            name="points",
            chosen=shown.head,
            key=MAP,
            role=shown.kind.key,
            note=legend(frame),
            about=about_file(shown),
        )
    with right, st.container(key="role-card"):
        draw_card(shown, query, url_params.carried())
        if examples := atlas_examples(request, shown.head):
            markup(examples)
    with st.container(key="below"):
        if series := checkpoints_of(request):
            draw_curve(series, shown)
        draw_table(shown, selected_heads(MAP), url_params.carried())


def opening(request: Request, table: RoleTable) -> dict[str, str]:
    """Return the head that Explore opens this sentence with, if it has a role; else the first role is shown."""
    head = opening_head(request.text, request.pair, request.model)
    return {"head": head_name(head)} if head in table.heads and roles_held(table, head) else {}


def unasked(request: Request, table: RoleTable) -> str:
    """Say why a decoder's heads are not asked some questions; empty where they are, and of an encoder."""
    missing = [OF_DECODERS[kind] for kind in OF_DECODERS if kind not in counts(table)]
    model = loading.model(request) if missing else None
    text = list[str]()
    if model is None or not model.info.is_causal:
        return ""
    for heads, check in missing:
        try:
            check(model)
        except InputError as flaw:
            text.append(f"No {heads} are looked for. {flaw}")
    return " ".join(text)


def atlas_examples(request: Request, head: Head) -> str:
    """Return the first top examples of a head in the atlas, as HTML; empty where no atlas comes with the model."""
    shipped = head_facts.shipped_atlas(request.model, request.trained)
    if shipped is None:
        return ""
    atlas = shipped.atlas
    items = "".join(
        f"<li>{example_line(atlas.passages[example.passage], example, head, request)}</li>"
        for example in atlas.entry(head).top[:N_EXAMPLES]
    )
    return f'<h3>Top examples</h3><ol class="atlas-examples" data-uncounted>{items}</ol>'


def _table(request: Request) -> RoleTable:
    """Return the table, computed where none comes with the program. Raises HeadScopeError where there is none."""
    known = head_facts.known_table(request.model, request.trained)
    if known is not None:
        return known
    model = loading.model(request)
    duration = "some minutes" if model.n_parameters > SMALL else "up to a minute"
    n_heads = count_noun(model.n_layers * model.n_heads, "head")
    with st.spinner(f"Analysing {n_heads} ({duration}, first visit only)", show_time=True):
        return head_facts.table(request.model, request.trained)


def _question_box(shown: Choice) -> None:
    """Draw the choice of a question of the kind, where it has several."""
    answers = [answer for answer in shown.table.answers if answer.kind == shown.kind.key]
    if len(answers) == 1:
        return
    titles = {answer.key: answer.question.title for answer in answers}
    if sum(key not in PART_OF for key in titles) > 1:
        titles = {"": "All questions", **titles}
    kind = shown.kind.key
    follow_url(
        st.selectbox,
        "Question",
        "role-question",
        shown.question,
        lambda question: url_params.change({"role": kind, "question": question, "head": None}),
        options=list(titles),
        format_func=titles.__getitem__,
        label_visibility="collapsed",
        width=360,
    )
