// A column of numbers as it arrives: Arrow's from the server, or a plain list.

export function column(table) {
  if (!table) return new Float32Array();
  return table.getChildAt ? table.getChildAt(0).toArray() : Float32Array.from(table);
}
