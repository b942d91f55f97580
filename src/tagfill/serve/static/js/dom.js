// Elements from code: text is always text, never markup.

export function h(what, attributes, ...children) {
  const [name, ...classes] = what.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  if (attributes instanceof Node || Array.isArray(attributes) || typeof attributes !== "object" || attributes === null) {
    children.unshift(attributes);
    attributes = {};
  }
  set(element, attributes);
  add(element, children);
  return element;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) element.removeAttribute(name);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.entries(value).forEach(([property, text]) => element.style.setProperty(property, text));
    else if (name in element && !name.includes("-") && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export function picture(photo, size, name = "") {
  return h("img", {
    src: pictureUrl(photo, size),
    alt: name,
    draggable: "false",
    decoding: "async",
  });
}

export function pictureUrl(photo, size) {
  return `/api/photos/${photo}/picture?size=${size}`;
}

// Keys go to what is typed into, and arrows to a slider.
export function typing(event) {
  const field = event.target.closest("input:not([type=range]):not([type=checkbox]), textarea, select");
  const sliding = event.target.matches("[type=range]") && event.key.startsWith("Arrow");
  return Boolean(field) || sliding || event.ctrlKey || event.metaKey || event.altKey;
}
