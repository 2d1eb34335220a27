// The first minute: on a first visit one word of the sentence changes by itself and back, slowly, with the trace of its
// arcs, until the visitor touches anything. Nothing of it is told to the server or written into the address.
const SEEN = "headscope-visited";
const WAIT = 2500;
const STAY = 6000;
const SLOW = 1600;
const TOUCHES = ["pointerdown", "keydown", "wheel"];

export class FirstVisit {
  static begin(view, record, sent) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || location.search || !isFirst()) return;
    view.firstVisit = new FirstVisit(view, record, sent);
  }

  // sent: what Python sends with the sentence; sent.first: {record, change, words} of the one to change it to
  constructor(view, record, sent) {
    this.view = view;
    const { first, evidence } = sent;
    this.own = [record, { ...sent, first: null }];
    this.other = [first.record, { evidence, usual: sent.usual, measures: sent.measures, why: sent.why, ghost: { ...first, record, compare: "" } }];
    this.touched = () => this.end();
    for (const kind of TOUCHES) addEventListener(kind, this.touched, { capture: true, passive: true });
    view.root.addEventListener("pointermove", this.touched);
    this.timer = setTimeout(() => this.turn(this.other, () => this.turn(this.own, () => this.end())), WAIT);
  }

  turn([record, sent], next) {
    this.turned = record !== this.own[0];
    this.view.turn(record, sent, SLOW);
    this.timer = setTimeout(next, this.turned ? STAY : SLOW);
  }

  end() {
    clearTimeout(this.timer);
    for (const kind of TOUCHES) removeEventListener(kind, this.touched, { capture: true });
    this.view.root.removeEventListener("pointermove", this.touched);
    this.view.firstVisit = null;
    if (this.turned) this.view.turn(...this.own, 0);
    this.turned = false;
  }
}

// Whether this browser keeps nothing of an earlier visit; from now on it does.
function isFirst() {
  try {
    const seen = localStorage.getItem(SEEN);
    localStorage.setItem(SEEN, "1");
    return !seen;
  } catch {
    return false;
  }
}
