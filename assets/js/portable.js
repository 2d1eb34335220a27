// Numbers that travelled as text: base64 of their bytes, with their type.
const TYPES = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, float32: Float32Array };

export function bytesOf(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function decodeArrays(payload) {
  const typed = ({ type, base64 }) => {
    const array = new TYPES[type](bytesOf(base64).buffer);
    return { getChildAt: () => ({ toArray: () => array }) };
  };
  return Object.fromEntries(Object.entries(payload).map(([name, value]) => [name, value?.base64 !== undefined ? typed(value) : value]));
}
