// The memory that the values of a JSON body take beyond its bytes, estimated before anything is parsed. Three
// bytes of `{},` become more than a hundred when they are parsed and copied for an actor, so bodies are
// charged by this weight and not by their length alone. Pure.

/** An empty object or array, parsed and copied. */
const CONTAINER_BYTES = 112;
/** An item of an array, or half of a property: the slot, or the number or short text in it. */
const SEPARATOR_BYTES = 32;

/** Text that is no JSON has some weight too; it is refused when it is parsed. */
export function weighBody(json: Buffer): number {
  let containers = 0;
  let separators = 0;
  let quoted = false;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (quoted) {
      if (byte === 0x5c /* \ */) i++;
      else if (byte === 0x22 /* " */) quoted = false;
    } else if (byte === 0x22) quoted = true;
    else if (byte === 0x2c /* , */ || byte === 0x3a /* : */) separators++;
    else if (byte === 0x5b /* [ */ || byte === 0x7b /* { */) containers++;
  }
  return containers * CONTAINER_BYTES + separators * SEPARATOR_BYTES;
}
