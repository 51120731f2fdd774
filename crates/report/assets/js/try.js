// The link to the playground, with this comparison in its fragment.

/** Schemes that a link to the playground may have. */
const SCHEMES = ["https:", "http:", "file:"];

/** Shows the link: `#v=VERSION&s=…` with the comparison as JSON, compressed, in base64url. */
async function tryIt(node) {
  const { address, version, question } = node.dataset;
  const target = new URL(address, location.href);
  if (!SCHEMES.includes(target.protocol)) return;
  const stream = new Blob([question]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
  target.hash = `v=${encodeURIComponent(version)}&s=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  node.querySelector("a").href = target.href;
  node.hidden = false;
}
