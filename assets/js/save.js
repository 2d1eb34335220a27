// Handing the reader a file.

// Returns its name.
export function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  return name;
}

export function saveSvg(name, page) {
  return save(name, "image/svg+xml", page);
}
