"use strict";
// What the pages share that load data by a script element: a page opened from a file can load nothing else.
const releasegateData = (() => {
  const loading = new Map();

  function load(name) {
    if (!loading.has(name)) {
      loading.set(name, new Promise((loaded, failed) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onload = () => loaded(globalThis.siteData[name]);
        script.onerror = () => failed(new Error(`data/${name}.js cannot be read`));
        document.head.append(script);
      }));
    }
    return loading.get(name);
  }

  // Control characters and signs that turn the direction of writing are shown as their numbers.
  const shown = (text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

  function made(tag, className, ...inside) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...inside);
    return element;
  }

  const bdi = (text) => made("bdi", "", shown(String(text)));
  const address = () => new URLSearchParams(location.hash.slice(1));

  function begin(work) {
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", work);
    else work();
  }

  return { address, bdi, begin, load, made, shown };
})();
