// Runs a client's script again and again in one process, so that its packages are loaded once. Argument: the script. For
// each line of JSON, {arguments, asked}, the script is evaluated anew, finds that line in `given`, and exports `outcome`, a
// text in JSON. Prints a line for each: {outcome}, or {failed} with what the script threw.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { href } = pathToFileURL(process.argv[2]);
let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  globalThis.given = JSON.parse(line);
  const told = await import(`${href}?${++count}`).then(({ outcome }) => ({ outcome }), (error) => ({ failed: String(error?.stack ?? error) }));
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
