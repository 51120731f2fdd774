/** Shows the link to the playground: `#v=VERSION&s=…` with this comparison as JSON, compressed, in base64url. */
async function tryIt(node) {
  const { address, version, question } = node.dataset;
  const target = new URL(address, location.href);
  // Not `javascript:`.
  if (!/^(https?|file):$/.test(target.protocol)) return;
  const stream = new Blob([question]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  target.hash = `v=${encodeURIComponent(version)}&s=${text}`;
  node.querySelector("a").href = target.href;
  node.hidden = false;
}
