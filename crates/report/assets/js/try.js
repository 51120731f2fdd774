/** Shows the link to the playground with this comparison. */
async function tryIt(node) {
  const { address, version, question } = node.dataset;
  const target = new URL(address, location.href);
  // Not `javascript:`.
  if (!/^(https?|file):$/.test(target.protocol)) return;
  target.hash = await fragment(version, question);
  node.querySelector("a").href = target.href;
  node.hidden = false;
}
tryIt(document.getElementById("try"));
