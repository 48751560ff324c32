// What a reader chose, kept by the browser. Where it keeps nothing, the choice holds for the page.

export function remembered(name, store, otherwise = false) {
  const key = `parity.${name}`;
  let is = otherwise;
  try {
    const kept = store.getItem(key);
    if (kept !== null) is = kept === "true";
  } catch {
    // Storage is switched off.
  }
  return {
    get is() {
      return is;
    },
    set(value) {
      is = value;
      try {
        store.setItem(key, `${value}`);
      } catch {
        // It holds for this page.
      }
    },
  };
}
