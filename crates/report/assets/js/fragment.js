/** A link's fragment for the playground, `v=VERSION&s=…`: JSON, compressed, in base64url. */
async function fragment(version, json) {
  const stream = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
  return `v=${encodeURIComponent(version)}&s=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}
