// BERT (mha_core/draw/static_site/graph.py). Returns (pieces) => promise of { weights } (layers, heads, n, n).
export const bertOf = (_, { run, integers }) => async (pieces) => {
  const [ids, segments] = ["id", "segment"].map((name) => integers(pieces.map((piece) => piece[name])));
  return { weights: (await run({ ids, segments })).weights };
};
