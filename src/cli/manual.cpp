#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.h"

namespace gputopo::cli {
namespace {

// Escapes text for roff: macros, escapes, and dashes that could not be searched for.
std::string roff(const std::string& text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_start = c == '\n';
  }
  return result;
}

std::string option_entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "" : ", ") + ("-" + name);
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "" : ", ") + ("--" + name);
  std::string text = ".TP\n";
  if (names.empty()) {
    text += fmt::format("\\fI{}\\fR\n", roff(option.get_name()));
  } else {
    text += fmt::format("\\fB{}\\fR", roff(names));
    if (option.get_items_expected_max() > 0) text += fmt::format(" \\fI{}\\fR", roff(option.get_type_name()));
    text += "\n";
  }
  return text + roff(option.get_description()) +
         (option.get_default_str().empty() ? "" : fmt::format(" (default {})", roff(option.get_default_str()))) + "\n";
}

std::string option_entries(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) text += option_entry(*option);
  return text;
}

bool takes_several(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

// Whether an option of a command is also an option of the program itself.
bool is_shared(const CLI::App& app, const CLI::Option& option) {
  const CLI::Option* same = option.get_positional() ? nullptr : app.get_option_no_throw(option.get_name());
  return same != nullptr && same->get_description() == option.get_description();
}

// The names of a command's options that are described with those of the program.
std::string shared_options(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (is_shared(app, *option)) names.push_back(fmt::format("\\fB{}\\fR", roff("--" + option->get_lnames().front())));
  }
  return fmt::format(".PP\nOptions described above: {}.\n", fmt::join(names, ", "));
}

struct NamedCommand {
  std::string name;  // "fleet merge"
  const CLI::App* app;
};

// The commands that do something: a command with nested commands is replaced by these.
std::vector<NamedCommand> subcommands(const CLI::App& app) {
  std::vector<NamedCommand> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<NamedCommand> own = subcommands(*command);
    if (own.empty()) commands.push_back({command->get_name(), command});
    for (const NamedCommand& one : own) commands.push_back({command->get_name() + " " + one.name, one.app});
  }
  return commands;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  // Not the build date, which would make two builds of one version differ.
  constexpr const char* kDate = "2026-11-29";
  std::string text = fmt::format(".TH GPUTOPO 1 \"{}\" \"gputopo {}\" \"User Commands\"\n", kDate, roff(version));
  text += ".SH NAME\ngputopo \\- measure the memory hierarchy of a GPU\n";
  text += ".SH SYNOPSIS\n.B gputopo\n[\\fIoptions\\fR]\n";
  for (const auto& [name, command] : subcommands(app)) {
    text += fmt::format(".br\n.B gputopo {}\n[\\fIoptions\\fR]", roff(name));
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional()) continue;
      text += fmt::format(" \\fI{}\\fR{}", roff(option->get_name()), takes_several(*option) ? " ..." : "");
    }
    text += "\n";
  }
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(app.get_description()));
  text += ".SH OPTIONS\n" + option_entries(app);
  text += ".SH COMMANDS\n";
  for (const auto& [name, command] : subcommands(app)) {
    text += fmt::format(".SS {}\n{}.\n", roff(name), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (!is_shared(app, *option)) text += option_entry(*option);
    }
    text += shared_options(app, *command);
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& meaning : exit_code_meanings()) {
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(meaning.code), roff(meaning.text));
  }
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n.B NO_COLOR\nIf it is set and not empty, output to a terminal has no color.\n"
      ".TP\n.B TERM\nIf it is unset or \"dumb\", there is no color, and progress is printed line by line.\n"
      ".TP\n.B COLUMNS\nThe width of the table if standard output is not a terminal; 80 if it is unset.\n";
  return text;
}

}  // namespace gputopo::cli
