// Quotes a word for a shell, so that it arrives unchanged. Pure.

export function shellWord(text: string, platform: NodeJS.Platform = process.platform): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (platform === "win32") return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
