/**
 * What to install when there is no C++ compiler, for the system at hand.
 *
 * @module
 */

const BY_DISTRIBUTION: readonly (readonly [RegExp, string])[] = [
  [/\b(?:debian|ubuntu|linuxmint|raspbian|pop)\b/, "apt-get install g++"],
  [/\b(?:fedora|rhel|centos|rocky|almalinux|amzn|ol)\b/, "dnf install gcc-c++"],
  [/\b(?:suse|opensuse[\w-]*|sles)\b/, "zypper install gcc-c++"],
  [/\b(?:arch|manjaro)\b/, "pacman -S gcc"],
  [/\balpine\b/, "apk add g++"],
];

/**
 * The command that installs a C++ compiler.
 *
 * @param os As `Deno.build.os`.
 * @param osRelease The text of `/etc/os-release`; empty where there is none.
 */
export function compilerInstallation(os: string, osRelease: string): string {
  if (os === "darwin") return "`xcode-select --install`";
  const identity = [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)]
    .map((match) => match[1]!.toLowerCase()).join(" ");
  const known = BY_DISTRIBUTION.find(([pattern]) => pattern.test(identity));
  if (known !== undefined) return `\`${known[1]}\``;
  const all = "`apt-get install g++` (Debian, Ubuntu), `dnf install gcc-c++` (Fedora, RHEL), " +
    "`zypper install gcc-c++` (SUSE), `pacman -S gcc` (Arch), `apk add g++` (Alpine)";
  return all;
}

/** The text of `/etc/os-release`, or nothing where it cannot be read. */
export function readOsRelease(): string {
  try {
    return Deno.readTextFileSync("/etc/os-release");
  } catch {
    // Only the wording of an advice depends on it.
    return "";
  }
}
