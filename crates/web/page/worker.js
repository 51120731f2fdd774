"use strict";
// Runs in a Web Worker: one module, one request at a time.

let exports = null;

/** The bytes at an address and length packed into 64 bits; they are freed. */
function taken(packed) {
  const at = Number(packed >> 32n);
  const length = Number(packed & 0xffffffffn);
  const bytes = new Uint8Array(exports.memory.buffer, at, length).slice();
  exports.release(at, length);
  return bytes;
}

const read = packed => new TextDecoder().decode(taken(packed));

/** Writes parts one after the other into memory of the module; returns address and length. */
function given(parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const at = exports.take(length);
  const into = new Uint8Array(exports.memory.buffer, at, length);
  let end = 0;
  for (const part of parts) {
    into.set(part, end);
    end += part.length;
  }
  return [at, length];
}

function ask(request, attached) {
  exports.attach(...given(attached));
  return read(exports.reply(...given([new TextEncoder().encode(request)])));
}

/** Message of a trap: the panic's, or that memory or stack was exhausted. */
function trapped(error) {
  let message = "";
  try {
    message = read(exports.failure());
  } catch {
    // The module is not usable any more.
  }
  return message || `the simulator needed more memory than this page allows, or the text is nested too deeply (${error.message})`;
}

/**
 * The module uses no clock. A library in it (microlp) would read one for a time limit that is never set, through functions that
 * `wasm-bindgen` would provide: here every time is 0, so no result depends on it.
 */
function withoutClock(module) {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = () => 0;
  }
  return imports;
}

/** Compiles a module that is packed by gzip and written in base64. */
async function compiled(text) {
  const trimmed = text.trim();
  const packed = Uint8Array.fromBase64?.(trimmed) ?? Uint8Array.from(atob(trimmed), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  // Compiles while it decompresses.
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
}

self.onmessage = async ({ data }) => {
  if (data.packed) {
    try {
      self.postMessage({ compiled: await compiled(data.packed) });
    } catch (error) {
      self.postMessage({ trap: error.message });
    }
    return;
  }
  if (data.module) {
    exports = (await WebAssembly.instantiate(data.module, withoutClock(data.module))).exports;
    return;
  }
  try {
    const reply = ask(data.request, data.attached);
    const bytes = taken(exports.detach());
    self.postMessage({ reply, bytes }, [bytes.buffer]);
  } catch (error) {
    self.postMessage({ trap: trapped(error) });
  }
};
