// A column of numbers as it arrives: as it is, Arrow's, or a plain list.

export function column(table) {
  if (!table) return new Float32Array();
  if (ArrayBuffer.isView(table)) return table;
  return table.getChildAt ? table.getChildAt(0).toArray() : Float32Array.from(table);
}
