"""Help on commands: in sections, with whole lines."""

from typing import Any

from typer.core import TyperGroup

# Spellings of the option that prints help.
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class SectionedGroup(TyperGroup):
    """Commands below the title of their section, where Typer would cut their lines off."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each section, in the order of its first command."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            command = self.commands[name]
            line = str(command.help).partition("\n\n")[0]
            title = getattr(command, "rich_help_panel", None) or "Commands"
            # Of one width, so that the lines of all sections begin below each other.
            sections.setdefault(title, []).append((name.ljust(width), line))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
