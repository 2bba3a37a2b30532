// Bundles the page whose code it reads from its standard input. Argument: the folder for page.js and page.css.
import { text } from "node:stream/consumers";
import { build } from "esbuild";

await build({
  stdin: { contents: await text(process.stdin), loader: "jsx", resolveDir: import.meta.dirname },
  bundle: true,
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".ttf": "empty", ".woff": "empty", ".woff2": "empty" },
  outfile: `${process.argv[2]}/page.js`,
  logLevel: "warning",
});
