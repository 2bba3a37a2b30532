/** Changes elements into others of the same shape: what is the same stays, with its selection, its place and its focus. */

/** What elements were before something was made of their content. @type {WeakMap<Node, Node>} */
const originals = new WeakMap();

/**
 * Put something in the place of an element's content, until that changes.
 * @param {HTMLElement} element
 * @param {string} kind its class then.
 * @param {Node | string} content
 */
export function decorate(element, kind, content) {
  originals.set(element, element.cloneNode(true));
  element.classList.add(kind);
  element.replaceChildren(content);
}

/** Whether an element has what `decorate` put there. @param {Node} element */
export const isDecorated = (element) => originals.has(element);

/**
 * Make the children of an element what a fragment has.
 * @param {Element} parent
 * @param {ParentNode} wanted its nodes are moved.
 */
export function morph(parent, wanted) {
  const nodes = [...wanted.childNodes];
  nodes.forEach((node, index) => {
    const old = parent.childNodes[index];
    if (!old) parent.append(node);
    else if (!(originals.get(old) ?? old).isEqualNode(node)) change(old, node);
  });
  while (parent.childNodes.length > nodes.length) parent.lastChild?.remove();
}

/** @param {ChildNode} old @param {ChildNode} node */
function change(old, node) {
  if (old instanceof Text && node instanceof Text) {
    if (node.data.startsWith(old.data)) old.appendData(node.data.slice(old.length));
    else old.data = node.data;
  } else if (old instanceof Element && node instanceof Element && old.tagName === node.tagName && !originals.has(old)) {
    for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of node.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    morph(old, node);
  } else old.replaceWith(node);
}
