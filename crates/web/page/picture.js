// In the frame of the answer: a chart as one SVG without style sheets, for other programs.

/** Properties of SVG shapes that a style sheet sets. */
const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
  "fill-opacity", "stroke-opacity", "visibility", "font-size", "font-weight", "text-anchor", "clip-path"];
const SPACE = "http://www.w3.org/2000/svg";

function shape(name, attributes, text) {
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

/** A copy of an SVG drawing with its colours written into it. */
function painted(drawing) {
  const copy = drawing.cloneNode(true);
  const [from, to] = [[drawing, ...drawing.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((node, index) => {
    const style = getComputedStyle(node);
    for (const name of PAINT) to[index].setAttribute(name, style.getPropertyValue(name));
    to[index].removeAttribute("class");
    to[index].removeAttribute("style");
  });
  return copy;
}

const isVisible = style => style.display !== "none" && style.visibility !== "hidden" && Number(style.opacity) > 0;
const isPaint = colour => !/^(transparent|rgba\(.*, 0\))$/.test(colour);

/** Radius of corners, px. */
function radius(style, box) {
  const value = Number.parseFloat(style.borderTopLeftRadius) || 0;
  return style.borderTopLeftRadius.endsWith("%") ? value / 100 * box.width : value;
}

/** The border of a box that has one on all sides. */
function border(style) {
  const widths = ["Top", "Right", "Bottom", "Left"].map(side => style[`border${side}Width`]);
  const isWhole = widths.every(width => width === widths[0] && width !== "0px") && isPaint(style.borderTopColor);
  return isWhole ? { stroke: style.borderTopColor, "stroke-width": widths[0] } : null;
}

/** Borders on single sides, and a line across the middle that is a background: rules and whiskers. */
function strips(style, { x, y, width, height }) {
  const found = [];
  const add = (fill, part) => found.push(shape("rect", { fill, ...part }));
  if (!border(style)) {
    const size = side => (isPaint(style[`border${side}Color`]) ? Number.parseFloat(style[`border${side}Width`]) : 0);
    const [left, right, top, bottom] = ["Left", "Right", "Top", "Bottom"].map(size);
    if (style.borderLeftStyle === "dashed") {
      const [x1, y2] = [x + left / 2, y + height];
      found.push(shape("line", { x1, x2: x1, y1: y, y2, stroke: style.borderLeftColor, "stroke-width": left, "stroke-dasharray": "4 3" }));
    } else if (left) {
      add(style.borderLeftColor, { x, y, width: left, height });
    }
    if (right) add(style.borderRightColor, { x: x + width - right, y, width: right, height });
    if (top) add(style.borderTopColor, { x, y, width, height: top });
    if (bottom) add(style.borderBottomColor, { x, y: y + height - bottom, width, height: bottom });
  }
  const colour = /^linear-gradient\((rgba?\([^)]*\))/.exec(style.backgroundImage)?.[1];
  const thick = Number.parseFloat(style.backgroundSize.split(" ")[1]);
  if (colour && thick > 0) add(colour, { x, y: y + (height - thick) / 2, width, height: thick });
  return found;
}

/** The lines of a text as it is broken on the page. */
function lines(text) {
  const range = document.createRange();
  const found = [];
  for (let at = 0; at < text.data.length; at += 1) {
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const box = range.getClientRects()[0];
    if (!box || !box.width) continue;
    const last = found.at(-1);
    if (last && Math.abs(last.box.top - box.top) < 2) last.text += text.data[at];
    else found.push({ box, text: text.data[at] });
  }
  return found;
}

/** A chart as SVG: boxes with a background, borders of boxes, texts, drawings. */
function asSvg(figure) {
  const outer = figure.getBoundingClientRect();
  const root = shape("svg", { xmlns: SPACE, width: outer.width, height: outer.height, viewBox: `0 0 ${outer.width} ${outer.height}` });
  const place = box => ({ x: box.left - outer.left, y: box.top - outer.top, width: box.width, height: box.height });
  const visit = node => {
    if (node.nodeType === Node.TEXT_NODE) {
      const style = getComputedStyle(node.parentElement);
      for (const { box, text } of lines(node)) {
        if (!text.trim()) continue;
        root.append(shape("text", {
          x: box.left - outer.left, y: box.bottom - outer.top - 0.24 * box.height, fill: style.color, "font-size": style.fontSize,
          "font-weight": style.fontWeight, "font-family": style.fontFamily, "xml:space": "preserve",
        }, text));
      }
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || ["SCRIPT", "STYLE", "BUTTON", "SELECT", "INPUT"].includes(node.tagName)) return;
    const style = getComputedStyle(node);
    const box = node.getBoundingClientRect();
    // For readers of screens only.
    if (node.classList.contains("unseen")) return;
    if (!isVisible(style) || (!box.width && !box.height)) return;
    if (node.tagName.toLowerCase() === "svg") {
      const copy = painted(node);
      for (const [key, value] of Object.entries(place(box))) copy.setAttribute(key, value);
      copy.setAttribute("overflow", style.overflow);
      copy.setAttribute("font-family", style.fontFamily);
      root.append(copy);
      return;
    }
    root.append(...strips(style, place(box)));
    const stroke = border(style);
    if (stroke) {
      const inset = Number.parseFloat(stroke["stroke-width"]) / 2;
      const { x, y, width, height } = place(box);
      root.append(shape("rect", {
        x: x + inset, y: y + inset, width: Math.max(width - 2 * inset, 0), height: Math.max(height - 2 * inset, 0),
        rx: radius(style, box), fill: isPaint(style.backgroundColor) ? style.backgroundColor : "none", ...stroke,
      }));
    } else if (isPaint(style.backgroundColor)) {
      root.append(shape("rect", { ...place(box), rx: radius(style, box), fill: style.backgroundColor }));
    }
    node.childNodes.forEach(visit);
  };
  visit(figure);
  return new XMLSerializer().serializeToString(root);
}

/** An SVG as the bytes of a PNG at twice its size. */
async function asPng(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
  const pen = canvas.getContext("2d");
  pen.scale(2, 2);
  pen.drawImage(image, 0, 0);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

/** The charts that are shown. */
const charts = () => [...document.querySelectorAll("figure.chart")].filter(figure => figure.offsetParent !== null);

function nameOf(figure, index) {
  const name = document.getElementById(figure.getAttribute("aria-labelledby")) ?? figure.querySelector("figcaption");
  return name?.textContent.replace(/\s+/g, " ").trim() || figure.getAttribute("aria-label") || `Chart ${index + 1}`;
}

addEventListener("message", async ({ data, source }) => {
  if (source !== parent) return;
  if (data?.list) parent.postMessage({ charts: charts().map(nameOf) }, "*");
  if (!["svg", "png"].includes(data?.picture)) return;
  const figure = charts()[data.index];
  if (!figure) return;
  try {
    const text = asSvg(figure);
    parent.postMessage({ picture: data.picture === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await asPng(text) }, "*");
  } catch (error) {
    parent.postMessage({ failure: error.message }, "*");
  }
});
// No chart is shown before the first layout.
new ResizeObserver(() => parent.postMessage({ charts: charts().map(nameOf) }, "*")).observe(document.documentElement);
